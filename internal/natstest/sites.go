package natstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/subjects"
)

// SitesT are two clusters of NATS servers, connected by leaf nodes, each with a JetStream domain of its own. Its methods are for the goroutine of
// the test.
type SitesT struct {
	// East and West are the clusters. Their domains are "east" and "west".
	East, West *ClusterT
	links      []*link
}

// Sites runs two clusters of n nodes each until the end of the test. Nothing of the installation with the given names passes between them but the API of JetStream,
// and what mirrors transport. In short mode, the test is skipped.
func Sites(t testing.TB, n int, names subjects.Names) *SitesT {
	t.Helper()
	if testing.Short() {
		t.Skip("two clusters take too long for short mode")
	}
	s := &SitesT{}
	ports, err := freePorts(n)
	if err != nil {
		t.Fatalf("natstest: %v", err)
	}
	urls := s.link(t, ports)
	deny := `"` + strings.Join(names.Inner(), `", "`) + `"`
	s.East = startSite(t, "east", n, func(node int) string {
		// Without no_advertise, the other site would learn of addresses that lead past the links.
		return fmt.Sprintf("jetstream { domain: east }\nleafnodes { host: 127.0.0.1, port: %d, no_advertise: true }\n", ports[node])
	})
	s.West = startSite(t, "west", n, func(int) string {
		return fmt.Sprintf("jetstream { domain: west }\nleafnodes { reconnect: \"200ms\", remotes: [ { urls: [%s], deny_imports: [%s], deny_exports: [%s] } ] }\n",
			urls, deny, deny)
	})
	return s
}

// link makes a link to each port, and returns where they are found, as a list for a configuration.
func (s *SitesT) link(t testing.TB, ports []int) string {
	t.Helper()
	var urls []string
	for _, port := range ports {
		l := newLink(t, fmt.Sprintf("127.0.0.1:%d", port))
		s.links = append(s.links, l)
		urls = append(urls, fmt.Sprintf("%q", "nats-leaf://"+l.address()))
	}
	return strings.Join(urls, ", ")
}

func startSite(t testing.TB, name string, n int, configure func(int) string) *ClusterT {
	c := &ClusterT{t: t, dir: t.TempDir(), log: Logger(t), name: name, configure: configure}
	t.Cleanup(c.Shutdown)
	c.run(n, nil)
	return c
}

// Cut cuts the connections between the sites, until Heal.
func (s *SitesT) Cut() {
	for _, l := range s.links {
		l.set(true)
	}
}

// Heal lets the sites connect again.
func (s *SitesT) Heal() {
	for _, l := range s.links {
		l.set(false)
	}
}
