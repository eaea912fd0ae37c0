package natsserver

import (
	"log/slog"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// DefaultHost is where the server listens unless told otherwise: on this machine only.
	DefaultHost = "127.0.0.1"
	// DefaultPort is where NATS clients look for a server.
	DefaultPort = 4222
	// MaxPayload is the largest message the server takes. An action request may carry an input and the last result of
	// 512 KiB each, and escaping can make JSON larger; the 1 MB a NATS server takes by default would not hold them. It
	// is the largest size NATS recommends.
	MaxPayload = 8 << 20
)

// SyncMode says when the server writes what it has acknowledged through to the disk.
type SyncMode string

const (
	// SyncAlways syncs before a write is acknowledged: a power loss loses nothing.
	SyncAlways SyncMode = "always"
	// SyncInterval syncs every two minutes, as NATS servers do by default: a power loss may lose what was acknowledged
	// since, a killed process nothing.
	SyncInterval SyncMode = "interval"
)

// Options say how to run the server. Only Dir is required.
type Options struct {
	// Dir is the data folder. It is created, for the owner only, if it does not exist.
	Dir string
	// Host is the address to listen on; DefaultHost if empty.
	Host string
	// Port is the port to listen on; DefaultPort if 0, a free one if -1.
	Port int
	// Sync says when writes reach the disk; SyncAlways if empty.
	Sync SyncMode
	// Name is the name of the server, without spaces; "carillon" if empty. In a cluster each node needs its own.
	Name string
	// Cluster makes the server a node of a cluster.
	Cluster *ClusterOptions
	// MaxStore bounds the bytes on disk; at 0 the server takes three quarters of what is free.
	MaxStore int64
	// Logger gets what the server has to say; slog.Default() if nil.
	Logger *slog.Logger
}

// ClusterOptions make a server a node of a cluster.
type ClusterOptions struct {
	// Name is the same in all nodes.
	Name string
	// Port is where the other nodes connect to, on the host of the server.
	Port int
	// Routes are the URLs of the nodes, such as "nats://127.0.0.1:6222"; the node's own may be among them.
	Routes []string
}

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = DefaultHost
	}
	if o.Port == 0 {
		o.Port = DefaultPort
	}
	if o.Sync == "" {
		o.Sync = SyncAlways
	}
	if o.Name == "" {
		o.Name = "carillon"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Dir == "":
		return schedule.Invalid("data", "the folder is missing")
	case o.Port < -1 || o.Port > 65535:
		return schedule.Invalid("port", "%d must be 1 to 65535, or -1 for a free port", o.Port)
	case o.Sync != SyncAlways && o.Sync != SyncInterval:
		return schedule.Invalid("sync", "%q must be %q or %q", o.Sync, SyncAlways, SyncInterval)
	case strings.ContainsAny(o.Name, " \t\n"):
		return schedule.Invalid("name", "%q must not contain spaces", o.Name)
	case o.MaxStore < 0:
		return schedule.Invalid("max_store", "%d must not be negative", o.MaxStore)
	case o.Cluster != nil && (o.Cluster.Name == "" || o.Cluster.Port == 0 || len(o.Cluster.Routes) == 0):
		return schedule.Invalid("cluster", "name, port and routes are required")
	}
	return nil
}

func (o Options) serverOptions() *server.Options {
	so := &server.Options{
		ServerName: o.Name,
		Host:       o.Host,
		Port:       o.Port,
		MaxPayload: MaxPayload,
		// Signals belong to the program around the server.
		NoSigs:            true,
		JetStream:         true,
		StoreDir:          o.Dir,
		SyncAlways:        o.Sync == SyncAlways,
		JetStreamMaxStore: o.MaxStore,
	}
	if c := o.Cluster; c != nil {
		so.Cluster = server.ClusterOpts{Name: c.Name, Host: o.Host, Port: c.Port}
		so.Routes = server.RoutesFromStr(strings.Join(c.Routes, ","))
	}
	return so
}
