package natsserver

import (
	"log/slog"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/carillon-scheduler/carillon/internal/loopback"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// DefaultHost is where the server listens by default: only on this machine.
	DefaultHost = "127.0.0.1"
	// DefaultPort is where NATS clients look for a server.
	DefaultPort = 4222
	// MaxPayload is the largest message that the server accepts. An action request may carry an input and the last result of 512
	// KiB each, and escaping can make JSON larger. They would not fit into the 1 MB that a NATS server accepts by default.
	// MaxPayload is the largest size that NATS recommends.
	MaxPayload = 8 << 20
)

// SyncMode is when the server syncs acknowledged writes to the disk.
type SyncMode string

const (
	// SyncAlways syncs before a write is acknowledged: a power loss loses nothing.
	SyncAlways SyncMode = "always"
	// SyncInterval syncs every two minutes, as NATS servers do by default. A power loss may lose what was acknowledged since the
	// last sync. A killed process loses nothing.
	SyncInterval SyncMode = "interval"
)

// Options are the settings of the server. Only Dir is required.
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
	// ConfigFile is a configuration file of nats-server with further settings: who may connect and with which permissions,
	// certificates, limits. The other fields override the file.
	ConfigFile string
	// Insecure allows the server to listen on addresses other than loopback without authentication and without TLS.
	Insecure bool
	// MaxStore limits the bytes on disk. If it is 0, the server takes three quarters of the free space.
	MaxStore int64
	// Logger gets the log of the server; slog.Default() if nil.
	Logger *slog.Logger
}

// ClusterOptions make a server a node of a cluster.
type ClusterOptions struct {
	// Name is the same in all nodes.
	Name string
	// Port is where the other nodes connect, on the host of the server.
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

func (o Options) serverOptions() (*server.Options, error) {
	so := &server.Options{}
	if o.ConfigFile != "" {
		var err error
		if so, err = server.ProcessConfigFile(o.ConfigFile); err != nil {
			return nil, schedule.Invalid("natsConfig", "%v", err)
		}
	}
	so.ServerName, so.Host, so.Port = o.Name, o.Host, o.Port
	if so.MaxPayload == 0 {
		so.MaxPayload = MaxPayload
	}
	so.NoSigs = true // signals belong to the program around the server
	// Each action has its own subjects. The cache would drop an entry before its subject occurs again.
	so.NoSublistCache = true
	so.JetStream, so.StoreDir, so.SyncAlways, so.JetStreamMaxStore = true, o.Dir, o.Sync == SyncAlways, o.MaxStore
	if c := o.Cluster; c != nil {
		so.Cluster = server.ClusterOpts{Name: c.Name, Host: o.Host, Port: c.Port}
		so.Routes = server.RoutesFromStr(strings.Join(c.Routes, ","))
	}
	return so, o.checkExposure(so)
}

// checkExposure refuses to listen beyond loopback without authentication and TLS, unless Insecure is set.
func (o Options) checkExposure(so *server.Options) error {
	if o.Insecure || loopback.IsHost(o.Host) {
		return nil
	}
	knowsWho := so.Username != "" || so.Authorization != "" || so.AuthCallout != nil ||
		len(so.Users)+len(so.Nkeys)+len(so.TrustedOperators)+len(so.TrustedKeys) > 0
	if knowsWho && so.TLSConfig != nil {
		return nil
	}
	return schedule.Invalid("host", "%s can be reached from other machines: give --nats-config FILE with authorization and tls "+
		"for that, or --insecure to let everybody in, unencrypted", o.Host)
}
