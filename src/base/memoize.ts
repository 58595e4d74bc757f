/**
 * Keeps what is made of something: of an object with it, for as long as the object lives, or of a key as long as the function. Pure.
 */

export function onceFor<T extends object, R extends object | string>(make: (of: T) => R): (of: T) => R {
  const made = new WeakMap<T, R>();
  return (of) => {
    let result = made.get(of);
    if (result === undefined) made.set(of, (result = make(of)));
    return result;
  };
}

export function oncePerKey<K, R>(make: (key: K) => R): (key: K) => R {
  const made = new Map<K, { readonly result: R }>();
  return (key) => {
    const known = made.get(key) ?? { result: make(key) };
    made.set(key, known);
    return known.result;
  };
}
