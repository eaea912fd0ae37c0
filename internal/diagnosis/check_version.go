package diagnosis

import (
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/topology"
)

// isOlder reports whether a version of NATS, such as "2.12.1", is before another, such as "2.14". It returns false for a text
// that is no version.
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

// checkVersion checks whether the servers can do what Carillon needs; nil means that they can.
func checkVersion(n *NATS) *Check {
	var older []string
	for _, s := range append([]Server{{URL: n.URL, Version: n.Version}}, n.Others...) {
		if isOlder(s.Version, topology.MinVersion) {
			older = append(older, s.URL+" has version "+s.Version)
		}
	}
	if older == nil {
		return nil
	}
	c := notOK("nats", Failed, fmt.Sprintf("%s: version %s or later is needed, for delayed messages",
		strings.Join(older, ", "), topology.MinVersion), "upgrade the NATS servers, one after the other")
	return &c
}

// quorum is the advice if JetStream or a stream does not answer.
const quorum = "see that more than half of the NATS servers run and reach each other: nats server report jetstream; and that you may ask"
