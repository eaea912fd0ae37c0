package builtin

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// forbiddenTarget is an address that the http action must not reach.
type forbiddenTarget struct{ address netip.Addr }

func (f *forbiddenTarget) Error() string {
	return fmt.Sprintf("url: the address %s is private, and this worker reaches none of those: "+
		"its operator can allow them with --http-allow-private", f.address)
}

// refusePrivate is asked with the address that is about to be dialed, after names have been looked up and for every
// redirect, so that no name can lead around it.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if isPrivate(at.Addr()) {
		return &forbiddenTarget{at.Addr()}
	}
	return nil
}

// notPublic are the ranges that the special-purpose registries of IANA (RFC 6890) call not globally reachable, and those that
// carry an IPv4 address in one of IPv6, beside what netip knows by name.
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "::/96",
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

func isPrivate(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return !address.IsGlobalUnicast() || address.IsPrivate() ||
		slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(address) })
}
