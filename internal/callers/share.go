package callers

import (
	"net/netip"
	"time"

	"github.com/nats-io/jwt/v2"
)

// networkBits is how many bits of an IPv6 address are its network. Whoever has one such address usually has all of that network.
const networkBits = 64

// Network returns what counts as one place in the network: an IPv4 address, or the /64 of an IPv6 address, such as "2001:db8::/64". What is no
// address stays as it is.
func Network(address string) string {
	from, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	from = from.Unmap().WithZone("")
	if from.Is4() {
		return from.String()
	}
	network, _ := from.Prefix(networkBits) // an IPv6 address has that many bits
	return network.String()
}

// Owner names who stands behind the credentials of a client, for what must be shared fairly. For a JWT that is the account of NATS: whoever has the key
// of an account makes as many users as they like. Otherwise it is the network of the address. It counts only once NATS has let the user in, since anybody
// can write the name of an account into a JWT.
func (c Client) Owner() string {
	claims, err := jwt.DecodeUserClaims(c.Credentials.jwt)
	switch {
	case err != nil:
		return "network " + Network(c.Address)
	case claims.IssuerAccount != "":
		return "account " + claims.IssuerAccount
	}
	return "account " + claims.Issuer
}

// Share is what counts when somebody must make room for another.
type Share struct {
	// Owner is a name from [Client.Owner].
	Owner string
	// IsBusy says that it is used just now.
	IsBusy bool
	// Used is when it was used last.
	Used time.Time
}

// MakesRoom returns what must go so that there is room for something new of an owner, and false if there is nothing. It is of the owner who has most, with
// the new one: nobody loses anything to somebody who has more. Of that owner it is what is not busy, and then what was used longest ago. If two owners
// have most, the owner of the new one gives way.
func MakesRoom[Key comparable, Thing any](all map[Key]Thing, owner string, of func(Thing) Share) (key Key, found bool) {
	count := map[string]int{owner: 1}
	for _, thing := range all {
		count[of(thing).Owner]++
	}
	var chosen Share
	for at, thing := range all {
		if share := of(thing); !found || share.goesBefore(chosen, owner, count) {
			key, chosen, found = at, share, true
		}
	}
	return key, found
}

// goesBefore reports whether a thing makes room rather than another.
func (s Share) goesBefore(other Share, owner string, count map[string]int) bool {
	switch {
	case count[s.Owner] != count[other.Owner]:
		return count[s.Owner] > count[other.Owner]
	case s.Owner != other.Owner && (s.Owner == owner) != (other.Owner == owner):
		return s.Owner == owner
	case s.IsBusy != other.IsBusy:
		return !s.IsBusy
	}
	return s.Used.Before(other.Used)
}
