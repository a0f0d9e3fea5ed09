// Values as text, as the tables of the terminal write them.
const UNITS = {
  seconds: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"], [1e-12, "ps"]],
  bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  joules: [[1, "J"], [1e-3, "mJ"], [1e-6, "µJ"], [1e-9, "nJ"], [1e-12, "pJ"]],
  count: [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]],
};
function threeDigits(value) {
  if (!value) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(3)))));
  const places = Math.max(0, 2 - exponent);
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}
function format(value, unit) {
  if (value === null || value === undefined) return "";
  if (unit === "text") return String(value);
  if (unit === "share") return (100 * value).toFixed(1) + "%";
  if (unit === "ratio") return value.toFixed(2) + "x";
  if (unit === "number") return Number.isInteger(value) ? value.toLocaleString("en-US") : threeDigits(value);
  if (unit === "count" && Math.abs(value) < 1000) return Number.isInteger(value) ? String(value) : threeDigits(value);
  if (!value) return "0";
  const units = UNITS[unit];
  const [size, name] = units.find((one) => Number((Math.abs(value) / one[0]).toPrecision(3)) >= 1) ?? units.at(-1);
  return (threeDigits(value / size) + " " + name).trimEnd();
}
