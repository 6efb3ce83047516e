// Before anything is painted: the owner's choice of light or dark, if there is one.
(() => {
  const chosen = /^"(light|dark)"$/.exec(localStorage.getItem("clankie.theme"));
  if (chosen) document.documentElement.dataset.theme = chosen[1];
})();
