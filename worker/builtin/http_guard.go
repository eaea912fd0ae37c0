package builtin

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// forbiddenTarget is an address that the http action must not reach.
type forbiddenTarget struct{ address netip.Addr }

func (f *forbiddenTarget) Error() string {
	return fmt.Sprintf("url: the address %s is private, and this worker reaches none of those: "+
		"its operator can allow them with --http-allow-private", f.address)
}

// newDialer returns the dialer of the http action. It refuses forbidden addresses. The check gets the address that is about to be dialed:
// after the name was looked up, and again for every redirect. So no name can bypass it, not even one that soon means another address.
func newDialer(isForbidden func(netip.Addr) bool) *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if isForbidden(at.Addr()) {
			return &forbiddenTarget{at.Addr()}
		}
		return nil
	}}
}

var (
	// public are the ranges that IANA has set aside for unicast in the whole internet: one eighth of all IPv6 addresses so far, and all
	// IPv4 addresses below multicast. Any other address is refused, even if it gets a meaning some day.
	public = prefixes("0.0.0.0/1", "128.0.0.0/2", "192.0.0.0/3", "2000::/3")
	// notPublic are the exceptions in the special-purpose registries of IANA (RFC 6890), and the ranges whose addresses contain another
	// address.
	notPublic = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// isPrivate reports whether an address is not in the public internet.
func isPrivate(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(address) }
	return !slices.ContainsFunc(public, contains) || slices.ContainsFunc(notPublic, contains)
}
