/**
 * Questions that people ask these two databases, each one SQL text that runs unchanged on the original file and on the
 * replica. They group by months of timestamps, aggregate decimals, and use windows and recursion. An Autonumber key is
 * a text in the replica and the number that refers to it is not. SQLite takes `'1' = 1` for false there, so those joins
 * say CAST. Sums are rounded, because the order in which SQLite adds is not part of the answer.
 */

interface Question {
  readonly title: string;
  readonly query: string;
}

const CHINOOK: readonly Question[] = [
  {
    title: 'artists by revenue',
    query: `
      SELECT Artist.Name, round(sum(InvoiceLine.UnitPrice * InvoiceLine.Quantity), 2) AS Revenue, count(*) AS Sold
      FROM InvoiceLine
      JOIN Track ON Track.TrackId = CAST(InvoiceLine.TrackId AS TEXT)
      JOIN Album ON Album.AlbumId = CAST(Track.AlbumId AS TEXT)
      JOIN Artist ON Artist.ArtistId = CAST(Album.ArtistId AS TEXT)
      GROUP BY Artist.Name ORDER BY Revenue DESC, Artist.Name LIMIT 25`,
  },
  {
    title: 'invoices per country and year',
    query: `
      SELECT BillingCountry, strftime('%Y', InvoiceDate) AS Year, count(*) AS Invoices, round(sum(Total), 2) AS Total,
             round(avg(Total), 4) AS Mean, min(Total) AS Smallest, max(Total) AS Largest
      FROM Invoice GROUP BY 1, 2 ORDER BY 1, 2`,
  },
  {
    title: 'sales per month with a running total and the change to the month before',
    query: `
      WITH Month AS (
        SELECT strftime('%Y-%m', InvoiceDate) AS Month, round(sum(Total), 2) AS Sales FROM Invoice GROUP BY 1)
      SELECT Month, Sales, round(sum(Sales) OVER (ORDER BY Month), 2) AS Running,
             round(Sales - lag(Sales) OVER (ORDER BY Month), 2) AS Change
      FROM Month ORDER BY Month`,
  },
  {
    title: 'the three best tracks of each genre',
    query: `
      SELECT Genre, Track, Revenue, Place FROM (
        SELECT Genre.Name AS Genre, Track.Name AS Track, round(sum(l.UnitPrice * l.Quantity), 2) AS Revenue,
               row_number() OVER (
                 PARTITION BY Genre.Name ORDER BY round(sum(l.UnitPrice * l.Quantity), 2) DESC, Track.Name) AS Place
        FROM InvoiceLine l
        JOIN Track ON Track.TrackId = CAST(l.TrackId AS TEXT)
        JOIN Genre ON Genre.GenreId = CAST(Track.GenreId AS TEXT)
        GROUP BY Genre.Name, Track.Name)
      WHERE Place <= 3 ORDER BY Genre, Place`,
  },
  {
    title: 'employees, whom they report to, and what their customers bought',
    query: `
      WITH RECURSIVE Line (EmployeeId, Name, Depth, Path) AS (
        SELECT EmployeeId, LastName, 0, LastName FROM Employee WHERE ReportsTo IS NULL
        UNION ALL
        SELECT e.EmployeeId, e.LastName, Depth + 1, Path || '/' || e.LastName
        FROM Line JOIN Employee e ON CAST(e.ReportsTo AS TEXT) = Line.EmployeeId)
      SELECT Path, Depth, count(DISTINCT Customer.CustomerId) AS Customers, round(total(Invoice.Total), 2) AS Sales
      FROM Line
      LEFT JOIN Customer ON CAST(Customer.SupportRepId AS TEXT) = Line.EmployeeId
      LEFT JOIN Invoice ON CAST(Invoice.CustomerId AS TEXT) = Customer.CustomerId
      GROUP BY Path, Depth ORDER BY Path`,
  },
  {
    title: 'customers who spent more than the mean of their country',
    query: `
      WITH Spent AS (
        SELECT c.LastName || ', ' || c.FirstName AS Customer, c.Country, round(sum(i.Total), 2) AS Spent
        FROM Customer c JOIN Invoice i ON CAST(i.CustomerId AS TEXT) = c.CustomerId GROUP BY c.CustomerId)
      SELECT Customer, Country, Spent, rank() OVER (PARTITION BY Country ORDER BY Spent DESC) AS Rank
      FROM Spent s WHERE Spent > (SELECT avg(Spent) FROM Spent o WHERE o.Country = s.Country)
      ORDER BY Country, Rank, Customer`,
  },
  {
    title: 'tracks that stand on no invoice, by media type, and their length',
    query: `
      SELECT MediaType.Name, count(*) AS Tracks, sum(Milliseconds) AS Milliseconds, sum(Bytes) AS Bytes,
             count(Composer) AS Composed
      FROM Track JOIN MediaType ON MediaType.MediaTypeId = CAST(Track.MediaTypeId AS TEXT)
      WHERE NOT EXISTS (SELECT 1 FROM InvoiceLine l WHERE CAST(l.TrackId AS TEXT) = Track.TrackId)
      GROUP BY MediaType.Name ORDER BY Tracks DESC, MediaType.Name`,
  },
  {
    title: 'playlists by size, through a table whose key has two columns',
    query: `
      SELECT p.Name, count(t.TrackId) AS Tracks, round(total(t.UnitPrice), 2) AS Price,
             count(DISTINCT t.GenreId) AS Genres
      FROM Playlist p
      LEFT JOIN PlaylistTrack pt ON CAST(pt.PlaylistId AS TEXT) = p.PlaylistId
      LEFT JOIN Track t ON t.TrackId = CAST(pt.TrackId AS TEXT)
      GROUP BY p.PlaylistId, p.Name ORDER BY Tracks DESC, p.Name, Price`,
  },
];

const NORTHWIND: readonly Question[] = [
  {
    title: 'sales by category and year',
    query: `
      SELECT c.CategoryName, strftime('%Y', o.OrderDate) AS Year, count(DISTINCT o.OrderID) AS Orders,
             round(sum(d.UnitPrice * d.Quantity * (1 - d.Discount)), 2) AS Sales
      FROM "Order Details" d
      JOIN Orders o ON o.OrderID = CAST(d.OrderID AS TEXT)
      JOIN Products p ON p.ProductID = CAST(d.ProductID AS TEXT)
      JOIN Categories c ON c.CategoryID = CAST(p.CategoryID AS TEXT)
      GROUP BY 1, 2 ORDER BY 1, 2`,
  },
  {
    title: 'employees by sales, with their share of all',
    query: `
      WITH Sales AS (
        SELECT e.FirstName || ' ' || e.LastName AS Name, sum(d.UnitPrice * d.Quantity * (1 - d.Discount)) AS Sales
        FROM Employees e JOIN Orders o ON CAST(o.EmployeeID AS TEXT) = e.EmployeeID
        JOIN "Order Details" d ON CAST(d.OrderID AS TEXT) = o.OrderID
        GROUP BY e.EmployeeID)
      SELECT Name, round(Sales, 2) AS Sales, round(100 * Sales / sum(Sales) OVER (), 3) AS Percent,
             ntile(3) OVER (ORDER BY Sales DESC) AS Third
      FROM Sales ORDER BY Sales DESC`,
  },
  {
    title: 'customers by revenue, with those who never ordered',
    query: `
      SELECT c.CompanyName, c.Country, count(DISTINCT o.OrderID) AS Orders,
             round(total(d.UnitPrice * d.Quantity * (1 - d.Discount)), 2) AS Revenue
      FROM Customers c
      LEFT JOIN Orders o ON o.CustomerID = c.CustomerID
      LEFT JOIN "Order Details" d ON CAST(d.OrderID AS TEXT) = o.OrderID
      GROUP BY c.CustomerID ORDER BY Revenue DESC, c.CompanyName`,
  },
  {
    title: 'products to reorder, with their supplier',
    query: `
      SELECT p.ProductName, s.CompanyName, s.Phone, p.UnitsInStock, p.UnitsOnOrder, p.ReorderLevel
      FROM Products p JOIN Suppliers s ON s.SupplierID = CAST(p.SupplierID AS TEXT)
      WHERE p.UnitsInStock + p.UnitsOnOrder <= p.ReorderLevel AND p.Discontinued = '0' ORDER BY p.ProductName`,
  },
  {
    title: 'days from order to shipment by shipper, and orders shipped late',
    query: `
      SELECT s.CompanyName, count(*) AS Shipped, round(avg(julianday(ShippedDate) - julianday(OrderDate)), 3) AS Days,
             sum(date(ShippedDate) > date(RequiredDate)) AS Late, round(sum(Freight), 2) AS Freight
      FROM Orders o JOIN Shippers s ON s.ShipperID = CAST(o.ShipVia AS TEXT) WHERE ShippedDate IS NOT NULL
      GROUP BY s.ShipperID ORDER BY s.CompanyName`,
  },
  {
    title: 'the best month of each product',
    query: `
      WITH Month AS (
        SELECT p.ProductName, strftime('%Y-%m', o.OrderDate) AS Month, sum(d.Quantity) AS Quantity
        FROM "Order Details" d
        JOIN Orders o ON o.OrderID = CAST(d.OrderID AS TEXT)
        JOIN Products p ON p.ProductID = CAST(d.ProductID AS TEXT)
        GROUP BY 1, 2)
      SELECT ProductName, Month, Quantity FROM (
        SELECT *, row_number() OVER (PARTITION BY ProductName ORDER BY Quantity DESC, Month) AS Place FROM Month)
      WHERE Place = 1 ORDER BY ProductName`,
  },
  {
    title: 'territories per employee and region, through a text key with leading zeros',
    query: `
      SELECT e.LastName, r.RegionDescription, count(*) AS Territories, min(t.TerritoryID) AS First,
             max(t.TerritoryID) AS Last
      FROM EmployeeTerritories et
      JOIN Employees e ON e.EmployeeID = CAST(et.EmployeeID AS TEXT)
      JOIN Territories t ON t.TerritoryID = et.TerritoryID
      JOIN Regions r ON r.RegionID = CAST(t.RegionID AS TEXT)
      GROUP BY e.EmployeeID, r.RegionID ORDER BY e.LastName, r.RegionDescription`,
  },
  {
    title: 'orders far above the mean of their customer, by percentile of freight',
    query: `
      WITH Value AS (
        SELECT o.OrderID, o.CustomerID, o.Freight, sum(d.UnitPrice * d.Quantity * (1 - d.Discount)) AS Value
        FROM Orders o
        JOIN "Order Details" d ON CAST(d.OrderID AS TEXT) = o.OrderID GROUP BY o.OrderID)
      SELECT v.CustomerID, round(v.Value, 2) AS Value, v.Freight,
             round(percent_rank() OVER (ORDER BY v.Freight), 6) AS Rank
      FROM Value v
      JOIN (SELECT CustomerID, avg(Value) AS Mean FROM Value GROUP BY CustomerID) m ON m.CustomerID = v.CustomerID
      WHERE v.Value > 2 * m.Mean ORDER BY v.CustomerID, Value`,
  },
];

/** The questions for each file. */
export const QUERIES = { 'chinook.sqlite': CHINOOK, 'northwind.sqlite': NORTHWIND } as const;
