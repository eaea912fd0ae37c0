package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// clientTimeout bounds the connection of a client command.
const clientTimeout = 3 * time.Second

func (a *app) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Create, show and control schedules",
		Long: `Creates, shows and controls schedules. Without --nats these commands talk to the
server that "carillon server" runs on this machine.`,
		Example: `  carillon schedule create tick --every 5s --type noop
  carillon schedule list
  carillon schedule pause tick --note "maintenance until Friday"`,
	}
	makeParent(cmd)
	cmd.AddCommand(
		a.createCommand(), a.updateCommand(), a.editCommand(), a.patchCommand(), a.describeCommand(), a.listCommand(),
		a.pauseCommand(), a.unpauseCommand(), a.triggerCommand(), a.deleteCommand(),
		a.backfillCommand(), a.cancelBackfillCommand(), a.skipCommand(), a.unskipCommand(),
		a.historyCommand(), a.watchCommand(), a.nextCommand(), a.countCommand(), a.auditCommand(),
	)
	return cmd
}

// callAPI connects, makes a call and closes the connection.
func (a *app) callAPI(ctx context.Context, id string, call func(context.Context, *client.Client) error) error {
	servers := a.global.natsURL()
	conn, err := nats.Connect(servers, append(a.credentials(), nats.Name("carillon-cli"), nats.Timeout(clientTimeout))...)
	if err != nil {
		return explainConnect(redact(servers), err)
	}
	defer conn.Close()
	api, err := a.newClient(conn)
	if err != nil {
		return err
	}
	return a.explain(id, call(ctx, api))
}

func (a *app) newClient(conn *nats.Conn) (*client.Client, error) {
	return client.New(conn, client.Config{
		Namespace: a.global.namespace, Prefix: a.global.prefix, Identity: a.identity(),
	})
}

func explainConnect(servers string, err error) error {
	if errors.Is(err, nats.ErrNoServers) {
		return withHint(fmt.Errorf("no NATS server answers at %s", servers),
			"start one with: carillon server; or name yours with --nats URL")
	}
	return fmt.Errorf("connect to NATS at %s: %w", servers, err)
}

// explain adds to an error of the API what can be done about it.
func (a *app) explain(id string, err error) error {
	switch schedule.CodeOf(err) {
	case schedule.CodeNotFound:
		if fieldOf(err) == "backfillId" {
			return withHint(err, "carillon schedule describe %s shows the triggers and backfills in progress", id)
		}
		if fieldOf(err) == "run" {
			return withHint(err, "carillon run list %s shows the newest runs", id)
		}
		return withHint(err, "carillon schedule list shows the schedules of namespace %s; --namespace chooses another", a.global.namespace)
	case schedule.CodeAlreadyExists:
		return withHint(err, "look at it with: carillon schedule describe %s; or choose another ID", id)
	case schedule.CodeFailedPrecondition:
		if fieldOf(err) == fieldToken {
			return withHint(err, "look at it with: carillon schedule describe %s", id)
		}
	}
	return err
}

// fieldToken is the field that an error names when the schedule has been changed since it was described.
const fieldToken = "conflictToken"

// fieldOf returns the field that an error of the API names.
func fieldOf(err error) string {
	var refused *schedule.Error
	if !errors.As(err, &refused) {
		return ""
	}
	return refused.Field
}

// redact hides the passwords in a list of NATS URLs.
func redact(urls string) string {
	list := strings.Split(urls, ",")
	for i, text := range list {
		if parsed, err := url.Parse(strings.TrimSpace(text)); err == nil {
			list[i] = parsed.Redacted()
		}
	}
	return strings.Join(list, ",")
}
