/**
 * Caches what a function makes: for an object, as long as that lives; for a key, as long as the function lives. Pure.
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
