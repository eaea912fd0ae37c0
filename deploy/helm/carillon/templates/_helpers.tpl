{{- define "carillon.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "carillon.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "carillon.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "carillon.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "carillon.selector" -}}
app.kubernetes.io/name: {{ include "carillon.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "carillon.labels" -}}
{{ include "carillon.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: carillon
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "carillon.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /*
The parts of an installation, as YAML: for each its role, and its values over the defaults.
*/}}
{{- define "carillon.parts" -}}
{{- $root := . }}
{{- $parts := dict }}
{{- range $role, $values := .Values.roles }}
{{- $part := mustMergeOverwrite (deepCopy $root.Values.defaults) $values (dict "role" $role) }}
{{- $_ := set $parts $role $part }}
{{- end }}
{{- if .Values.console.enabled }}
{{- $console := dict "replicas" .Values.console.replicas "resources" .Values.console.resources "extraEnv" .Values.console.extraEnv }}
{{- $_ := set $parts "console" (mustMergeOverwrite (deepCopy $root.Values.defaults) $console (dict "role" "console" "autoscaling" (dict "enabled" false))) }}
{{- end }}
{{- if .Values.replication.enabled }}
{{- $replication := dict "replicas" .Values.replication.replicas "resources" .Values.replication.resources "extraEnv" .Values.replication.extraEnv }}
{{- $_ := set $parts "replication" (mustMergeOverwrite (deepCopy $root.Values.defaults) $replication (dict "role" "replication" "autoscaling" (dict "enabled" false))) }}
{{- end }}
{{- range $name, $values := .Values.workers }}
{{- $part := mustMergeOverwrite (deepCopy $root.Values.defaults) $values (dict "role" "worker") }}
{{- $_ := set $parts (printf "worker-%s" $name) $part }}
{{- end }}
{{- toYaml $parts }}
{{- end }}

{{- /*
Who a part is to NATS.
*/}}
{{- define "carillon.credentials" -}}
{{- $who := .root.Values.nats.credentials }}
{{- if eq .part.role "worker" }}
{{- $who = mustMergeOverwrite (deepCopy $who) .part.credentials }}
{{- else if eq .part.role "replication" }}
{{- /* The Secret of the other roles is no default: they may not remove streams. */}}
{{- $who = mustMergeOverwrite (dict "kind" $who.kind "secret" "" "inboxPrefix" "") .root.Values.replication.credentials }}
{{- if ne $who.kind "none" }}
{{- $_ := required "replication.credentials.secret: name the Secret of a NATS user that may remove streams" $who.secret }}
{{- end }}
{{- end }}
{{- if ne $who.kind "none" }}
{{- $_ := required "nats.credentials.secret: name the Secret" $who.secret }}
{{- end }}
{{- toYaml $who }}
{{- end }}

{{- /*
What makes KEDA start more processes of a part: messages that wait for a consumer of a stream.
*/}}
{{- define "carillon.lagTrigger" -}}
{{- $keda := .root.Values.keda -}}
- type: nats-jetstream
  metadata:
    natsServerMonitoringEndpoint: {{ required "keda.monitoringEndpoint: say where NATS's monitoring is" $keda.monitoringEndpoint | quote }}
    account: {{ $keda.account | quote }}
    stream: {{ .stream }}
    consumer: {{ .consumer }}
    lagThreshold: {{ .part.autoscaling.lag | quote }}
{{- end }}
