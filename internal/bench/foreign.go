package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"

	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
)

// foreign reports whether the run uses a server that it has not started. Of such a server it knows only what clients are told.
func (s *session) foreign() bool { return s.config.Address != "" }

// namespace is the namespace of the workflows.
func (s *session) namespace() string { return cmp.Or(s.config.Namespace, namespace) }

// openForeign makes sure that the server answers. The workflows get a task queue and IDs that no other run has.
func (s *session) openForeign(ctx context.Context) error {
	s.installation = &installation{gateway: s.config.Address}
	s.queue = fmt.Sprintf("%s-%05x", taskQueue, rand.Uint32N(1<<20))
	return s.withClient(ctx, func(c sdkclient.Client) error {
		info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		if err != nil {
			return fmt.Errorf("bench: ask %s for its version: %w", s.config.Address, err)
		}
		s.result.Environment = Environment{
			Address: s.config.Address, ServerVersion: info.ServerVersion, Version: s.config.Version,
			Go: runtime.Version(), CPUs: min(runtime.GOMAXPROCS(0), runtime.NumCPU()), Profiled: s.profiler != nil,
		}
		return nil
	})
}

// serverApart reports whether the server has processes of its own that are known, so that its use can be told from that of the clients.
func (s *session) serverApart() bool {
	return s.config.ServerPID != 0 || s.host != nil && s.host.children != nil
}

// server is what the server has used. Where it runs in this process, the clients are included. It is zero where it is not known.
func (s *session) server(all map[string]usage) (sum usage) {
	if !s.serverApart() {
		if s.foreign() {
			return usage{}
		}
		return all[processBench]
	}
	for name, u := range all {
		if name != processBench && !strings.HasPrefix(name, processWorker) {
			sum.cpu, sum.rss, sum.peak = sum.cpu+u.cpu, sum.rss+u.rss, sum.peak+u.peak
		}
	}
	return sum
}
