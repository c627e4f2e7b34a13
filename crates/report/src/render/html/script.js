// What lies under the pointer says what it is. Without this the page is complete, but silent.
const tip = document.getElementById("tip");
function show(event) {
  const named = event.target.closest("[data-tip]");
  if (!named) { tip.style.display = "none"; return; }
  tip.textContent = named.dataset.tip;
  tip.style.display = "block";
  const { width, height } = tip.getBoundingClientRect();
  const beyond = event.clientX + 16 + width > innerWidth;
  tip.style.left = Math.max(4, beyond ? event.clientX - width - 12 : event.clientX + 14) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 6)) + "px";
}
document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
document.addEventListener("scroll", () => { tip.style.display = "none"; }, { passive: true });
