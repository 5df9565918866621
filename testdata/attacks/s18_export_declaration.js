// A default export is the result, as of a module. Nothing loads. Value.
export default 1;
