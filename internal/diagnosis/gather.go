package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config says whom to ask. All fields are required.
type Config struct {
	Conn  *nats.Conn
	JS    jetstream.JetStream
	Names subjects.Names
	// Now is the clock of this machine.
	Now func() time.Time
}

// Gather finds out how an installation is. It fails only if the context ends. Failed requests are among the facts.
func Gather(ctx context.Context, config Config) (*Facts, error) {
	g := gatherer{Config: config, facts: &Facts{
		Time: config.Now(), Prefix: config.Names.Prefix(), Streams: []Stream{}, Frontends: []Frontend{}, Queues: []Queue{},
		Processes: []presence.Process{},
	}}
	g.server(ctx)
	if g.facts.NATS.JetStream {
		g.site(ctx)
	}
	if g.facts.NATS.JetStream && g.installation(ctx) {
		g.streams(ctx)
		g.awaitAsked(ctx)
		g.processes(ctx)
		if !g.facts.isStandby() {
			g.queues(ctx)
		}
	}
	return g.facts, ctx.Err()
}

// site reads what the site says of itself.
func (g *gatherer) site(ctx context.Context) {
	record, _, err := site.NewStore(g.JS, g.Names).Load(ctx)
	if err != nil {
		g.problem("site", err)
	}
	g.facts.Site = record
}

type gatherer struct {
	Config
	facts *Facts
}

func (g *gatherer) problem(what string, err error) {
	g.facts.Problems = append(g.facts.Problems, fmt.Sprintf("%s: %v", what, err))
}

func (g *gatherer) server(ctx context.Context) {
	n := &g.facts.NATS
	n.URL, n.Server, n.Version = g.Conn.ConnectedUrlRedacted(), g.Conn.ConnectedServerName(), g.Conn.ConnectedServerVersion()
	n.Cluster, n.Servers, n.StoreLimit = g.Conn.ConnectedClusterName(), g.Conn.DiscoveredServers(), -1
	began := g.Now()
	account, err := g.JS.AccountInfo(ctx)
	n.RoundTrip = g.Now().Sub(began)
	switch {
	case err == nil:
		n.JetStream, n.Stored, n.StoreLimit = true, int64(account.Store), account.Limits.MaxStore
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
	default:
		n.JetStream = true // some answer may have come; the next requests will show
		n.Unanswered = err.Error()
		g.problem("account", err)
	}
	if ctx.Err() == nil {
		n.Others = g.others()
	}
}

const (
	// maxOthers limits the servers to connect to, and otherTimeout how long each may take to answer.
	maxOthers    = 16
	otherTimeout = 2 * time.Second
)

// others connects to the other servers that the connection knows, in the way of that connection, and returns what they are. It
// leaves out a server that cannot be reached from here, because that server may be for other clients only.
func (g *gatherer) others() (all []Server) {
	if g.Conn.Opts.InProcessServer != nil {
		return nil
	}
	urls := slices.DeleteFunc(g.Conn.Servers(), func(url string) bool { return url == g.Conn.ConnectedUrl() })
	found := make([]Server, min(len(urls), maxOthers))
	var asking sync.WaitGroup
	for i := range found {
		asking.Go(func() {
			options := g.Conn.Opts
			options.Url, options.Servers, options.Timeout = "", urls[i:i+1], otherTimeout
			options.AllowReconnect, options.RetryOnFailedConnect = false, false
			options.AsyncErrorCB, options.ClosedCB, options.ConnectedCB, options.DisconnectedErrCB = nil, nil, nil, nil
			conn, err := options.Connect()
			if err != nil {
				return
			}
			found[i] = Server{URL: conn.ConnectedUrlRedacted(), Version: conn.ConnectedServerVersion()}
			conn.Close()
		})
	}
	asking.Wait()
	return slices.DeleteFunc(found, func(s Server) bool { return s == (Server{}) })
}

// installation reads what all processes agree on, and reports whether there is an installation.
func (g *gatherer) installation(ctx context.Context) bool {
	_, err := g.JS.KeyValue(ctx, g.Names.ClusterBucket())
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return false
	}
	if err != nil {
		g.facts.Unreadable = err.Error()
		return false
	}
	cluster := kv.NewCluster(g.JS, g.Names)
	facts, err := kv.GetJSON[topology.Facts](ctx, cluster, topology.FactsKey)
	if err != nil {
		g.facts.Unreadable = err.Error()
		return false
	}
	g.facts.Cluster = &facts.Value
	all, err := namespaces.NewRecords(cluster).Names(ctx)
	if err != nil {
		g.problem("namespaces", err)
	}
	g.facts.Namespaces = len(all)
	if !g.facts.isStandby() {
		g.archive(ctx, cluster, all)
	}
	return true
}

func (g *gatherer) queues(ctx context.Context) {
	all, err := taskqueue.All(ctx, g.JS, g.Names)
	if err != nil {
		g.problem("task queues", err)
		return
	}
	for i := range all {
		q := Queue{
			Namespace: all[i].Namespace, Name: all[i].Name, Worker: all[i].Worker(), Waiting: all[i].Waiting, Held: all[i].Held,
		}
		if all[i].Oldest != nil {
			q.Oldest = all[i].Oldest.Since
		}
		g.facts.Queues = append(g.facts.Queues, q)
	}
}
