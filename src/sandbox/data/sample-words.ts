/**
 * The words that the sample data is made of. Chosen to hold what trips clients up: accents, apostrophes, quotes,
 * commas, semicolons, backslashes, markup, emoji, right-to-left text, leading zeros and spaces. Constants only.
 */

export const FIRST_NAMES = [
  'Anaïs',
  'Björn',
  'Chloé',
  'Dmitri',
  'Élodie',
  'François',
  'Gülşen',
  'Hélène',
  'Ibrahim',
  'José',
  'Kateřina',
  'Lars',
  'Marie-Claire',
  'Noémie',
  'Olga',
  'Paul',
  'Quentin',
  'Renée',
  'Søren',
  'Thomas',
] as const;

export const LAST_NAMES = [
  "D'Angelo",
  'Dubois',
  'Fernández',
  'Grün',
  'Haugen',
  'Ivanov',
  "L'Écuyer",
  'Müller',
  'Nguyễn',
  "O'Neill",
  'Petit',
  'Rossi',
  'Sánchez',
  'van der Berg',
  'Wójcik',
] as const;

export const COMPANY_HEADS = [
  'Atelier',
  'Bureau & Fils',
  'Café',
  'Grand Hôtel',
  'Maison',
  'Möbelhaus',
  'Nordic',
  'Office',
  'Studio',
  '"Zen"',
] as const;

export const COMPANY_TAILS = [
  'Alpin',
  'de la Gare',
  'des Lilas',
  'Großmann',
  'Lumière',
  'Norte, S.A.',
  'Østerbro',
  'Rivage',
  'Saint-Étienne',
  '<Interiors>',
] as const;

export const SEGMENTS = ['Hotel', 'Office', 'Private', 'Public sector', 'Resale; export'] as const;

export const STREETS = ["rue de l'Église", 'avenue Foch', 'Hauptstraße', 'quai des Brumes', 'place d’Armes'] as const;

export const CITIES = [
  'Lille',
  'Lyon',
  'Köln',
  'Liège',
  'Århus',
  'Kraków',
  'Málaga',
  'Besançon',
  'Zürich',
  'Nîmes',
] as const;

export const SKU_HEADS = ['CH', 'DK', 'LP', 'SF', 'TB'] as const;

export const FURNITURE = ['Armchair', 'Bookcase', 'Bureau', 'Desk', 'Floor lamp', 'Sofa', 'Stool', 'Table'] as const;

export const MODELS = ['Åre', 'Biarritz', 'Côte', "L'Étoile", 'Fjäll', 'Kaffe', '50/50', 'N°7'] as const;

export const FINISHES = ['ash', 'beech, oiled', 'oak', 'walnut', 'white/grey', 'linen "ecru"'] as const;

export const ORDER_STATES = ['New', 'Confirmed', 'In production', 'Shipped', 'Delivered', 'Cancelled'] as const;

export const CLAIM_STATES = ['ouverte', 'en cours', 'réglée', 'rejetée'] as const;

export const SENTENCES = [
  'The customer asked for delivery to the back entrance.',
  'Dimensions: 80 × 120 × 75 cm; tolerance ±2 mm.',
  'Ne pas empiler. Fragile !',
  'He said: "it\'s fine", and signed.',
  'Path of the drawing: C:\\drawings\\2024\\final\\new.dwg',
  '<b>Important</b> & urgent: see attachment.',
  '  indented, with two spaces in front',
  'Called back at 16:30 – no answer 📞.',
  'قطعة واحدة مفقودة',
  'Invoice no. 00123 was paid twice.',
  'Tab\there, and a null byte is not.',
  'Holz geölt, nicht lackiert; bitte nicht nass wischen.',
] as const;

/** A PNG of one transparent pixel. */
export const PIXEL_PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';
