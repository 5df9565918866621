// From a constructor, a field and a static block. Denied.
class A { static { this.p = codemode.secret({}); } }
return await A.p;
