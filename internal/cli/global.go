package cli

import (
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	defaultNATS      = "nats://127.0.0.1:4222"
	defaultNamespace = "default"
	defaultTaskQueue = "default"

	flagLogLevel = "log-level"
)

// globalOptions are the flags of every command.
type globalOptions struct {
	nats      string
	creds     string
	namespace string
	prefix    string
	identity  string
	logLevel  string
	logFormat string

	// names are made of prefix by check.
	names subjects.Names
}

func (o *globalOptions) define(root *cobra.Command) {
	*o = globalOptions{namespace: defaultNamespace, prefix: subjects.DefaultPrefix, logLevel: "info", logFormat: "text"}
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&o.nats, "nats", "", "`URL` of the NATS server, several separated by commas; without it, "+
		defaultNATS+", and for the server command an embedded one")
	flags.StringVar(&o.creds, "creds", "", "`FILE` of NATS credentials")
	flags.StringVar(&o.namespace, "namespace", o.namespace, "`NAME` of the namespace; the pools serve all namespaces")
	flags.StringVar(&o.prefix, "prefix", o.prefix, "`WORD` that begins all NATS names of the installation")
	flags.StringVar(&o.identity, "identity", "", "`TEXT` that says who asks, for the event history; user@host if not given")
	flags.String(flagconf.FileFlag, "", "read settings from a YAML `FILE`, one \"flag: value\" a line")
	flags.Var(flagconf.NewEnum(&o.logLevel, "debug", "info", "warn", "error"), flagLogLevel,
		"least `LEVEL` to log: debug, info, warn or error")
	flags.Var(flagconf.NewEnum(&o.logFormat, "text", "json"), "log-format", "`FORMAT` of the log on standard error: text or json")
	flags.VisitAll(func(flag *pflag.Flag) { annotate(flag, globalGroup) })
}

// check refuses what no NATS cluster could answer to.
func (o *globalOptions) check() (err error) {
	if o.names, err = subjects.New(o.prefix); err != nil {
		return err
	}
	return schedule.ValidateNamespace(o.namespace)
}

// natsURL returns where to connect when no server is embedded.
func (o *globalOptions) natsURL() string {
	if o.nats == "" {
		return defaultNATS
	}
	return o.nats
}

// logger returns the log of a command.
func (a *app) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(strings.ToUpper(a.global.logLevel))) // the flag takes nothing else
	options := &slog.HandlerOptions{Level: level}
	if a.global.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.env.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.env.Stderr, options))
}
