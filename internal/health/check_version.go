package health

import (
	"fmt"

	"github.com/carillon-scheduler/carillon/internal/topology"
)

// isOlder reports whether a version of NATS, such as "2.12.1", is before another, such as "2.14". What is not a version is not.
func isOlder(version, than string) bool {
	var major, minor, wantMajor, wantMinor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(than, "%d.%d", &wantMajor, &wantMinor); err != nil {
		return false
	}
	return major < wantMajor || major == wantMajor && minor < wantMinor
}

// checkVersion judges whether the server can do what Carillon needs; nil means that it can.
func checkVersion(n *NATS) *Check {
	if !isOlder(n.Version, topology.MinVersion) {
		return nil
	}
	c := notOK("nats", Failed, fmt.Sprintf("%s has version %s: version %s or later is needed, for delayed messages",
		n.URL, n.Version, topology.MinVersion), "upgrade the NATS servers, one after the other")
	return &c
}

// quorum is what to look at where JetStream or a stream does not answer.
const quorum = "see that more than half of the NATS servers run and reach each other: nats server report jetstream; and that you may ask"
