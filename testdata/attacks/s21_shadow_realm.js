// ShadowRealm, if there is one, must not reach outside. There is none. Value.
return typeof ShadowRealm;
