package cli

import (
	"net"
	"net/netip"

	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/internal/webserver"
)

// The connections that a console and each listener of a gateway may have at once. Each client of Temporal keeps one, and a browser up to six.
const (
	consoleConnections = 4096
	grpcConnections    = 16384
)

// connections is how many connections a listener may have; 0 or less means any number.
type connections int

// define defines the flag SERVER-max-connections. The hint is about connections that may be more.
func (c *connections) define(flags *pflag.FlagSet, server string, fallback int, hint string) {
	flags.IntVar((*int)(c), server+"-max-connections", fallback, "have `N` connections at once at most, and a quarter of them from one address, or from "+
		"one /64 with IPv6"+hint+"; 0 for any number")
}

// bound bounds the connections of a listener. Proxies may have all of them.
func (c *connections) bound(listener net.Listener, proxies []netip.Prefix) net.Listener {
	if *c <= 0 {
		return listener
	}
	return webserver.Bound(listener, int(*c), func(address string) string {
		if isIn(address, proxies) {
			return ""
		}
		return callers.Network(address)
	})
}

// isIn reports whether an address is in one of some ranges.
func isIn(address string, ranges []netip.Prefix) bool {
	at, err := netip.ParseAddr(address)
	for _, one := range ranges {
		if err == nil && one.Contains(at.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}
