// The slider for ε: it says its value while it moves, and asks for the plan when it stops. Pages work without it.
const slider = document.getElementById("slider");
if (slider) {
  slider.addEventListener("input", () => { slider.form.querySelector("output").value = slider.value; });
  slider.addEventListener("change", () => slider.form.requestSubmit());
}
