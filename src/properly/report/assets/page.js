"use strict";
// The threshold helper: every number is read from the table of thresholds, nothing is estimated here.
(function () {
  const source = document.getElementById("threshold-table");
  if (!source) return;
  const table = JSON.parse(source.textContent);
  const last = table.thresholds.length - 1;
  const find = (id) => document.getElementById(id);
  const slider = find("threshold");
  const costInputs = [find("cost-false-positive"), find("cost-false-negative")];
  const total = table.positives + table.negatives;

  function format(value) {
    if (Number.isInteger(value)) return value.toLocaleString("en-GB");
    return value.toLocaleString("en-GB", { maximumSignificantDigits: 4 });
  }

  function costs() {
    return costInputs.map((input) => Math.max(0, Number(input.value) || 0));
  }

  function counts(index) {
    const truePositives = table.truePositives[index];
    const falsePositives = table.falsePositives[index];
    return {
      "true-positives": truePositives,
      "false-positives": falsePositives,
      "false-negatives": table.positives - truePositives,
      "true-negatives": table.negatives - falsePositives,
    };
  }

  function costAt(index) {
    const [falsePositive, falseNegative] = costs();
    const cell = counts(index);
    return (cell["false-positives"] * falsePositive + cell["false-negatives"] * falseNegative) / total;
  }

  // The threshold that correct probabilities ask for: where the expected costs of both decisions are equal.
  function theory() {
    const [falsePositive, falseNegative] = costs();
    return falsePositive + falseNegative > 0 ? falsePositive / (falsePositive + falseNegative) : null;
  }

  function indexAt(threshold) {
    let index = 0;
    while (index < last && table.thresholds[index] < threshold) index += 1;
    return index;
  }

  function cheapest() {
    let best = 0;
    for (let index = 1; index <= last; index += 1) if (costAt(index) < costAt(best)) best = index;
    return best;
  }

  function place(line, index) {
    line.setAttribute("x1", index);
    line.setAttribute("x2", index);
  }

  function drawCurve() {
    const values = table.thresholds.map((_, index) => costAt(index));
    const top = Math.max(...values) || 1;
    const points = values.map((value, index) => index + " " + (100 - (96 * value) / top).toFixed(2));
    find("cost-path").setAttribute("d", "M" + points.join("L"));
    const threshold = theory();
    find("theory-mark").style.visibility = threshold === null ? "hidden" : "visible";
    if (threshold !== null) place(find("theory-mark"), indexAt(threshold));
    find("theory-threshold").textContent = threshold === null ? "any" : format(Number(threshold.toPrecision(4)));
  }

  function show() {
    const index = Number(slider.value);
    const threshold = table.thresholds[index];
    const words = threshold === null ? "above every probability" : format(threshold);
    find("threshold-value").textContent = words;
    find("threshold-value").dataset.threshold = threshold === null ? "" : String(threshold);
    slider.setAttribute("aria-valuetext", words);
    for (const [name, value] of Object.entries(counts(index))) {
      find(name).textContent = format(value);
      find(name).dataset.count = String(value);
    }
    find("expected-cost").textContent = format(1000 * costAt(index));
    find("expected-cost").dataset.cost = String(costAt(index));
    place(find("now-mark"), index);
  }

  function moveTo(index) {
    slider.value = String(index);
    show();
  }

  slider.max = String(last);
  find("cost-curve").setAttribute("viewBox", "0 0 " + last + " 100");
  slider.addEventListener("input", show);
  for (const input of costInputs) input.addEventListener("input", () => { drawCurve(); show(); });
  find("go-theory").addEventListener("click", () => { if (theory() !== null) moveTo(indexAt(theory())); });
  find("go-cheapest").addEventListener("click", () => moveTo(cheapest()));
  find("threshold-helper").hidden = false;
  find("without-script").hidden = true;
  drawCurve();
  moveTo(indexAt(theory() === null ? 0.5 : theory()));
})();
