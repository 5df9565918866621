// A regular expression with a million open groups.
// An error the guest sees, no crash.
return new RegExp('('.repeat(1e6)).source;
