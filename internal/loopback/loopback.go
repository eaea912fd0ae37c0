// Package loopback knows the names of this machine that no other machine can reach. It imports nothing of Carillon, and anything may import it.
package loopback

import "net"

// IsHost reports whether a host is this machine, by a name or an IP address that no other machine can reach. The host has no port and no brackets.
func IsHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
