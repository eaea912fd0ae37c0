package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/examples"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/cli/live"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// terminal prints to standard output: how to reach the server, and with --demo what happens.
type terminal struct {
	app     *app
	options *serverOptions
	cluster *roles.Cluster
	url     string
	started time.Time
	// elsewhere says where the installation is active, if not here.
	elsewhere *site.Elsewhere
	// ready is closed once the frontend answers requests.
	ready <-chan struct{}
	// gateway is where Temporal's clients find the server. Its listeners are nil if they do not.
	gateway roles.GatewayConfig
	// console is where the console is. Its listener is nil if it is not served.
	console roles.ConsoleConfig

	demo       []schedule.CreateRequest
	from       live.Position
	continuing []string
}

// prepare reads what the terminal must know from before the roles begin.
func (c *terminal) prepare(ctx context.Context) error {
	if !c.options.demo || c.elsewhere != nil {
		return nil
	}
	var err error
	if c.demo, err = apitext.DecodeYAMLDocuments[schedule.CreateRequest](examples.Demo); err != nil {
		return fmt.Errorf("examples/demo.yaml: %w", err)
	}
	if c.from, err = live.End(ctx, c.cluster.JS, c.cluster.Names); err != nil {
		return err
	}
	for i := range c.demo {
		c.demo[i].Action.TaskQueue = c.options.taskQueue
		if err := c.recall(ctx, c.demo[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// recall notes how far a schedule had come before this process started.
func (c *terminal) recall(ctx context.Context, id string) error {
	key := schedule.Key{Namespace: c.app.global.namespace, ID: id}
	last, found, err := live.Last(ctx, c.cluster.JS, c.cluster.Names, key)
	if err != nil || !found {
		return err
	}
	c.continuing = append(c.continuing, fmt.Sprintf("continuing: %s after the action of %s, completed %s",
		id, last.Nominal.In(c.app.env.Zone).Format(time.DateTime), render.Relative(last.Time, c.started)))
	return nil
}

func (c *terminal) role() roles.Role {
	return roles.Role{Name: "terminal", Run: c.run}
}

func (c *terminal) run(ctx context.Context) error {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil
	}
	c.banner()
	if c.options.demo && c.elsewhere == nil {
		return c.runDemo(ctx)
	}
	<-ctx.Done()
	return nil
}

func (c *terminal) banner() {
	rows := [][]string{
		{"", "data", c.dataText()},
		{"", "NATS", c.natsText()},
		{"", "cluster", fmt.Sprintf("%s, %s, namespace %s",
			plural(c.cluster.Facts.Shards, "shard"), plural(c.cluster.Facts.Replicas, "replica"), c.app.global.namespace)},
		{"", "Temporal", c.gatewayText()},
		{"", "console", c.consoleText()},
		{"", "try", "carillon schedule list" + c.clientFlags()},
		{"", "or", fmt.Sprintf("nats --server %s req %s '{}'", c.url, c.cluster.Names.API(c.app.global.namespace, subjects.ThingSchedule, "list"))},
		{"", "stop", "Ctrl-C"},
	}
	var text strings.Builder
	text.WriteString(c.title() + "\n")
	_ = render.Table(&text, rows) // a strings.Builder does not fail
	c.print(text.String())
}

// title says which roles run.
func (c *terminal) title() string {
	if c.elsewhere != nil {
		return fmt.Sprintf("carillon is ready to be read: the site %s is a standby of %s, which is active", c.elsewhere.Here, c.elsewhere.Active)
	}
	return "carillon is ready: all roles in this process"
}

func (c *terminal) dataText() string {
	if c.app.global.isExternal() {
		return "in the NATS cluster"
	}
	when := "every write is synced before it is acknowledged"
	if c.options.sync != string(natsserver.SyncAlways) {
		when = "synced every two minutes"
	}
	return c.options.embedded.Dir + " (" + when + ")"
}

func (c *terminal) natsText() string {
	if c.app.global.isExternal() {
		return c.url
	}
	return c.url + " (embedded)"
}

// gatewayText says where Temporal's clients find the server.
func (c *terminal) gatewayText() string {
	if c.gateway.GRPC == nil {
		return "not served"
	}
	text := c.gateway.GRPC.Addr().String()
	if c.gateway.HTTP != nil {
		text += " (gRPC), " + c.gateway.HTTP.Addr().String() + " (HTTP)"
	}
	return text
}

// consoleText says where the console is.
func (c *terminal) consoleText() string {
	if c.console.Listener == nil {
		return "not served"
	}
	scheme, who := "http://", ""
	if c.console.TLS != nil {
		scheme = "https://"
	}
	if c.console.LogIn {
		who = " (log in as a NATS user)"
	}
	return scheme + c.console.Listener.Addr().String() + who
}

// clientFlags are the flags that a client needs to reach this server.
func (c *terminal) clientFlags() string {
	var flags string
	if c.url != defaultNATS {
		flags += " --nats " + c.url
	}
	if prefix := c.cluster.Names.Prefix(); prefix != subjects.DefaultPrefix {
		flags += " --prefix " + prefix
	}
	if namespace := c.app.global.namespace; namespace != defaultNamespace {
		flags += " --namespace " + namespace
	}
	return flags
}

// runDemo creates the example schedules, and shows what happens until ctx ends.
func (c *terminal) runDemo(ctx context.Context) error {
	view := live.NewView(live.Config{
		Out: c.app.env.Stdout, Zone: c.app.env.Zone, Color: c.app.env.Color, Started: c.started,
	})
	for _, line := range c.continuing {
		c.print(line + "\n")
	}
	c.print("\n")
	view.Header()
	if err := c.createDemo(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return live.Follow(ctx, c.cluster.JS, c.cluster.Names, c.app.global.namespace, c.from, view)
}

func (c *terminal) createDemo(ctx context.Context) error {
	conn, err := c.cluster.Conn.Client()
	if err != nil {
		return fmt.Errorf("create the examples: %w", err)
	}
	defer conn.Close()
	api, err := c.app.newClient(conn)
	if err != nil {
		return err
	}
	for _, request := range c.demo {
		_, err := api.Create(ctx, request)
		if err != nil && !errors.Is(err, &schedule.Error{Code: schedule.CodeAlreadyExists}) {
			return fmt.Errorf("create %s: %w", request.ID, err)
		}
	}
	return nil
}

// stopped prints a last line.
func (c *terminal) stopped() {
	c.print("stopped: started again, it goes on where it was\n")
}

func (c *terminal) print(text string) { _, _ = fmt.Fprint(c.app.env.Stdout, text) }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
