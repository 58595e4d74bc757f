/**
 * Keeps what is made of an object with it, for as long as the object lives. Pure.
 */

export function onceFor<T extends object, R extends object | string>(make: (of: T) => R): (of: T) => R {
  const made = new WeakMap<T, R>();
  return (of) => {
    let result = made.get(of);
    if (result === undefined) made.set(of, (result = make(of)));
    return result;
  };
}
