/** The little of a browser that panels look at when they are loaded. */
const nothing = () => {};
const element = () => ({
  style: {},
  classList: { add: nothing },
  getContext: () => null,
  addEventListener: nothing,
});
const style = { getPropertyValue: () => "#808080" };

Object.assign(globalThis, {
  window: globalThis,
  matchMedia: () => ({ matches: false, addEventListener: nothing, addListener: nothing }),
  location: new URL("http://here/d/x"),
  localStorage: { getItem: () => null, setItem: nothing },
  sessionStorage: { getItem: () => null, setItem: nothing, removeItem: nothing },
  addEventListener: nothing,
  dispatchEvent: nothing,
  getComputedStyle: () => style,
  devicePixelRatio: 1,
  navigator: { language: "en", userAgent: "", vendor: "", platform: "" },
  document: {
    baseURI: "http://here/",
    documentElement: { dataset: {}, style: {} },
    createElement: element,
    addEventListener: nothing,
    removeEventListener: nothing,
    querySelector: () => null,
  },
});
