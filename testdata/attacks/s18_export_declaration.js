// An export declaration is not the body of a function. Nothing loads: error.
export default 1;
