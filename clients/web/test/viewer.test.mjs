// Tests the page against a real server in a real browser: one browser for all tests, one test after another.
import "./picture.mjs";
import "./inspection.mjs";
import "./controls.mjs";
import "./connection.mjs";
import "./colours.mjs";
import "./replay.mjs";
import "./pictures.mjs";
