package schedule

// Key names one schedule in a cluster. It does not tell a schedule from an earlier one of the same name; the
// incarnation in the records does.
type Key struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// String returns "namespace/id", for logs and messages.
func (k Key) String() string { return k.Namespace + "/" + k.ID }
