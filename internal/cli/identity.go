package cli

import (
	"cmp"
	"os"
	"os/user"
)

// identity says who asks, in the event history.
func (a *app) identity() string { return cmp.Or(a.global.identity, operator()) }

// operator is who uses this program, as far as the machine knows.
func operator() string {
	name := "unknown"
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	host, _ := os.Hostname() // without one the name has to do
	return name + "@" + cmp.Or(host, "unknown")
}
