package recorder

// DeriveKey derives a key of 32 bytes from the key of the record, for one purpose: processes that share the key of the
// record share the derived key too. Without a record it returns nil.
func (k *Recorder) DeriveKey(purpose string) []byte {
	if k.Key == nil {
		return nil
	}
	return k.Key.Derive(purpose)
}
