package diagnosis

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/presence"
)

// pingWait is how long processes have to answer.
const pingWait = 500 * time.Millisecond

// processes asks all frontends and all other processes at once what they are.
func (g *gatherer) processes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pingWait)
	defer cancel()
	var asking sync.WaitGroup
	var refused error
	asking.Go(func() { refused = g.frontends(ctx) })
	all, err := presence.All(ctx, g.Conn, g.Names)
	asking.Wait()
	if refused != nil {
		g.problem("frontends", refused)
	}
	if err != nil {
		g.problem("processes", err)
	}
	g.facts.Processes = all
}

func (g *gatherer) frontends(ctx context.Context) error {
	subject, err := micro.ControlSubject(micro.PingVerb, g.Names.ServiceName(), "")
	if err != nil {
		return err
	}
	return presence.Ask(ctx, bus.Plain{Conn: g.Conn}, subject, func(data []byte) {
		var ping micro.Ping
		if json.Unmarshal(data, &ping) == nil && ping.ID != "" {
			g.facts.Frontends = append(g.facts.Frontends, Frontend{ID: ping.ID, Version: ping.Version})
		}
	})
}
