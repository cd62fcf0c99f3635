// Choices of a select element.

/** Replaces the options; keeps the selection if its option still exists. */
export function setOptions(select: HTMLSelectElement, options: { value: string; text: string }[]): void {
  const key = JSON.stringify(options);
  if (select.dataset["key"] === key) return;
  select.dataset["key"] = key;
  const before = select.value;
  select.replaceChildren(...options.map(({ value, text }) => new Option(text, value)));
  if (options.some(({ value }) => value === before)) select.value = before;
}
