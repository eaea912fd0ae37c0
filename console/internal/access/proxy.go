package access

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/schedule"
)

// identifyByProxy finds out who has sent a request by what a proxy says.
func (a *Access) identifyByProxy(r *http.Request) (*Visitor, *denied) {
	if !a.isProxy(peerOf(r)) {
		return &Visitor{}, notProxy(r)
	}
	said := r.Header.Values(a.config.ProxyHeader)
	if len(said) != 1 || !isName(said[0]) {
		return &Visitor{}, deny(http.StatusForbidden, schedule.CodePermissionDenied,
			"the proxy must say who you are by one header %s: at most %d bytes of text", a.config.ProxyHeader, schedule.MaxIDBytes)
	}
	return &Visitor{Asker: callers.Asker{IsProcess: true}, Name: said[0], sender: said[0]}, nil
}

// notProxy is for whoever comes past the proxy.
func notProxy(r *http.Request) *denied {
	return deny(http.StatusForbidden, schedule.CodePermissionDenied, "only a proxy may come here, and %s is none: use the address of the proxy", peerOf(r))
}

func isName(text string) bool {
	return strings.TrimSpace(text) != "" && len(text) <= schedule.MaxIDBytes && !strings.ContainsFunc(text, unicode.IsControl)
}

// peerOf returns the address that a request comes from; the zero address if it comes from no address.
func peerOf(r *http.Request) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap().WithZone("")
}

func isFromHere(r *http.Request) bool { return peerOf(r).IsLoopback() }

func (a *Access) isProxy(address netip.Addr) bool {
	return slices.ContainsFunc(a.config.Proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// addressOf returns whose request it is: the address that it comes from, or the one that the proxies before this process say. What is further to the
// left than the first address that is no proxy, anybody could have written.
func (a *Access) addressOf(r *http.Request) string {
	from := peerOf(r)
	said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(said) - 1; i >= 0 && a.isProxy(from); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(said[i]))
		if err != nil {
			break
		}
		from = before.Unmap().WithZone("")
	}
	return from.String()
}

// network is where people are of whom nothing else is known, for the limits.
type network string

// networkOf is addressOf for the limits: the addresses of one IPv6 network count together.
func (a *Access) networkOf(r *http.Request) network { return network(callers.Network(a.addressOf(r))) }
