// The menu on phones and tablets: a drawer that opens over the page. A click beside it, Escape or a link closes it.
(() => {
  const toggle = () => document.querySelector(".menu-toggle");

  function open(yes) {
    document.body.classList.toggle("menu-open", yes);
    toggle()?.setAttribute("aria-expanded", String(yes));
    if (yes) document.querySelector(".menu a")?.focus();
    else toggle()?.focus();
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest(".menu-toggle")) open(!document.body.classList.contains("menu-open"));
    else if (event.target.closest(".menu-shade")) open(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.body.classList.contains("menu-open")) open(false);
  });
  // whoever leaves the drawer by the keyboard closes it: what lies below it cannot be seen
  document.addEventListener("focusin", (event) => {
    if (document.body.classList.contains("menu-open") && !event.target.closest(".menu, .menu-toggle")) {
      document.body.classList.remove("menu-open");
      toggle()?.setAttribute("aria-expanded", "false");
    }
  });
})();
