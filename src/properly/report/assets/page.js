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

  // The least of 1, 2, 3, 4, 5, 6, 8, 10 times a power of ten that is not below the value.
  function roundedUp(value) {
    const power = Math.pow(10, Math.floor(Math.log10(value)));
    return power * [1, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * (1 - 1e-12));
  }

  function label(axis, text, side, share) {
    const mark = document.createElement("span");
    mark.textContent = text;
    mark.style[side] = 100 * share + "%";
    find(axis).append(mark);
  }

  // Thresholds lie as far apart as the rows between them are many, half of each class: some round ones are marked.
  function drawThresholdAxis() {
    const least = 40 / find("cost-curve").getBoundingClientRect().width;
    const places = [];
    for (const threshold of [0.5, 0.1, 0.01, 0.9, 0.001, 0.99, 0.2, 0.05, 0.02, 0.8, 0.3, 0.7, 0.005, 0.002, 0.95]) {
      const share = indexAt(threshold) / last;
      if (share < least / 2 || share > 1 - least / 2 || places.some((other) => Math.abs(other - share) < least)) continue;
      places.push(share);
      label("threshold-axis", String(threshold), "left", share);
    }
  }

  function drawCurve() {
    const values = table.thresholds.map((_, index) => 1000 * costAt(index));
    const top = roundedUp(Math.max(...values) || 1);
    const points = values.map((value, index) => index + " " + (100 - (100 * value) / top).toFixed(2));
    find("cost-axis").replaceChildren();
    for (const share of [0, 0.5, 1]) label("cost-axis", format(share * top), "bottom", share);
    find("cost-grid").setAttribute("d", [0, 50, 100].map((y) => "M0 " + y + "H" + last).join(""));
    find("cost-path").setAttribute("d", "M" + points.join("L"));
    const threshold = theory();
    find("theory-mark").style.visibility = threshold === null ? "hidden" : "visible";
    if (threshold !== null) place(find("theory-mark"), indexAt(threshold));
    find("theory-threshold").textContent = threshold === null ? "any" : format(Number(threshold.toPrecision(4)));
  }

  function showShare(name, part, whole) {
    const share = whole > 0 ? part / whole : NaN;
    find(name).textContent = whole > 0 ? (100 * share).toPrecision(3).replace(/^100\.?0*$/, "100") + "\u00a0%" : "–";
    find(name).dataset.share = String(share);
  }

  function show() {
    const index = Number(slider.value);
    const threshold = table.thresholds[index];
    const words = threshold === null ? "above every probability" : format(threshold);
    find("threshold-value").textContent = words;
    find("threshold-value").dataset.threshold = threshold === null ? "" : String(threshold);
    slider.setAttribute("aria-valuetext", words);
    const cell = counts(index);
    for (const [name, value] of Object.entries(cell)) {
      find(name).textContent = format(value);
      find(name).dataset.count = String(value);
    }
    const called = cell["true-positives"] + cell["false-positives"];
    showShare("precision", cell["true-positives"], called);
    showShare("recall", cell["true-positives"], table.positives);
    find("alerts").textContent = format(Number(((1000 * called) / total).toPrecision(4)));
    find("alerts").dataset.share = String(called / total);
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
  drawThresholdAxis();
  moveTo(indexAt(Number(slider.dataset.start)));
})();
