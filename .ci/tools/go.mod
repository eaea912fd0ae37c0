module github.com/carillon-scheduler/carillon/tools

go 1.26.0

tool (
	codeberg.org/polyfloyd/go-errorlint
	github.com/ashanbrown/forbidigo/v2
	go-simpler.org/sloglint/cmd/sloglint
	honnef.co/go/tools/cmd/staticcheck
)

require (
	codeberg.org/polyfloyd/go-errorlint v1.9.1 // indirect
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/ashanbrown/forbidigo/v2 v2.3.1 // indirect
	github.com/ettle/strcase v0.2.0 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	go-simpler.org/sloglint v0.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	honnef.co/go/tools v0.8.2 // indirect
)
