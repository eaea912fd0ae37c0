// Package deploy tests what the folder gives to Prometheus and Grafana: that every metric and label which a dashboard or a rule names is
// in the catalogue of metrics, that every panel can be understood, and that every alert has a runbook whose commands exist. The tests need
// no network; those that run promtool are skipped where it is not installed. Package systemtest tests the rest of the folder, on running
// installations.
//
// There is nothing here but tests, and no package may import it.
//
// Its tests may import everything. The package imports nothing of Carillon.
package deploy
