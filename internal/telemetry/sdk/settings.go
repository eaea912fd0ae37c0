package sdk

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The environment variables that decide whether anything is exported. What else there is, such as headers, certificates and
// the sizes of batches, is read by the exporters themselves.
const (
	disabledVariable        = "OTEL_SDK_DISABLED"
	tracesVariable          = "OTEL_TRACES_EXPORTER"
	metricsVariable         = "OTEL_METRICS_EXPORTER"
	endpointVariable        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable  = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	metricsEndpointVariable = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	protocolVariable        = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable  = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	metricsProtocolVariable = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"
	// samplerVariable chooses the sampler of the SDK. It decides about the flags that other processes see.
	samplerVariable    = "OTEL_TRACES_SAMPLER"
	samplerArgVariable = "OTEL_TRACES_SAMPLER_ARG"
)

const (
	exporterNone = "none"
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// settings are what the environment asks for.
type settings struct {
	// traces and metrics say that they are exported.
	traces, metrics bool
	// sampler says that there is one to ask, even if no span is exported.
	sampler bool
}

// sdk reports whether the SDK makes spans or counts metrics for an exporter.
func (s settings) sdk() bool { return s.traces || s.metrics || s.sampler }

// readSettings checks and reads the environment. It refuses what the SDK would only log before it did something else.
func readSettings(getenv func(string) string) (settings, error) {
	if err := accept(getenv, disabledVariable, true, "true", "false"); err != nil {
		return settings{}, err
	}
	if strings.EqualFold(getenv(disabledVariable), "true") {
		return settings{}, nil
	}
	if err := checkNames(getenv); err != nil {
		return settings{}, err
	}
	if err := checkSampler(getenv); err != nil {
		return settings{}, err
	}
	if err := checkEndpoints(getenv); err != nil {
		return settings{}, err
	}
	return settings{
		traces:  isWanted(getenv, tracesVariable, tracesEndpointVariable),
		metrics: isWanted(getenv, metricsVariable, metricsEndpointVariable),
		sampler: getenv(samplerVariable) != "",
	}, nil
}

// isWanted reports whether there is an exporter, or somewhere to export to.
func isWanted(getenv func(string) string, exporter, endpoint string) bool {
	switch getenv(exporter) {
	case exporterNone:
		return false
	case "":
		return getenv(endpointVariable) != "" || getenv(endpoint) != ""
	}
	return true
}

func checkNames(getenv func(string) string) error {
	for _, check := range []struct {
		variable string
		anyCase  bool
		accepted []string
	}{
		{tracesVariable, false, []string{"otlp", "console", exporterNone}},
		{metricsVariable, false, []string{"otlp", "console", "prometheus", exporterNone}},
		{protocolVariable, false, []string{protocolHTTP, protocolGRPC}},
		{tracesProtocolVariable, false, []string{protocolHTTP, protocolGRPC}},
		{metricsProtocolVariable, false, []string{protocolHTTP, protocolGRPC}},
		{samplerVariable, true, []string{
			"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio",
		}},
	} {
		if err := accept(getenv, check.variable, check.anyCase, check.accepted...); err != nil {
			return err
		}
	}
	return nil
}

// accept refuses a variable that is set to none of some words.
func accept(getenv func(string) string, variable string, anyCase bool, accepted ...string) error {
	value := getenv(variable)
	word := value
	if anyCase {
		word = strings.ToLower(strings.TrimSpace(value))
	}
	if word == "" || slices.Contains(accepted, word) {
		return nil
	}
	return fmt.Errorf("%s: %q is not known: use one of %s", variable, value, strings.Join(accepted, ", "))
}

func checkSampler(getenv func(string) string) error {
	arg := strings.TrimSpace(getenv(samplerArgVariable))
	if arg == "" || !strings.HasSuffix(strings.ToLower(strings.TrimSpace(getenv(samplerVariable))), "traceidratio") {
		return nil
	}
	if ratio, err := strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
		return fmt.Errorf("%s: %q is not a share of all traces: use a number from 0 to 1", samplerArgVariable, arg)
	}
	return nil
}

// checkEndpoints refuses what the exporters would take for something else: the address of a collector without http://, mostly.
func checkEndpoints(getenv func(string) string) error {
	for _, check := range []struct{ endpoint, protocol string }{
		{endpointVariable, protocolVariable},
		{tracesEndpointVariable, tracesProtocolVariable},
		{metricsEndpointVariable, metricsProtocolVariable},
	} {
		value := strings.TrimSpace(getenv(check.endpoint))
		if value == "" {
			continue
		}
		parsed, err := url.Parse(value)
		isHTTP := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != ""
		isGRPC := err == nil && parsed.Scheme != "" &&
			(getenv(check.protocol) == protocolGRPC || getenv(check.protocol) == "" && getenv(protocolVariable) == protocolGRPC)
		if !isHTTP && !isGRPC {
			return fmt.Errorf("%s: %q is not the URL of a collector: use http://HOST:PORT or https://HOST:PORT", check.endpoint, value)
		}
	}
	return nil
}
