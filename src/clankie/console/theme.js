// Before anything is painted: the owner's choice of light or dark, if there is one.
(() => {
  try {
    const chosen = /^"(light|dark)"$/.exec(localStorage.getItem("clankie.theme"));
    if (chosen) document.documentElement.dataset.theme = chosen[1];
  } catch {
    // Nothing may be kept in this browser: the system's choice stands.
  }
})();
