{{/* Names and labels, and what is refused before anything is made. */}}

{{- define "kymo.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* 52, since names of pods and of their revisions are longer. */}}
{{- define "kymo.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "kymo.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "kymo.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "kymo.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kymo.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kymo.labels" -}}
{{ include "kymo.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "kymo.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "kymo.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* TLS of a listener, as YAML: its own, else that of all. Takes config and listener. */}}
{{- define "kymo.tls" -}}
{{- $own := dig "listeners" .listener "tls" dict .config }}
{{- toYaml (default (default dict .config.tls) $own) }}
{{- end }}

{{/* How a listener is spoken to. Takes config and listener. */}}
{{- define "kymo.scheme" -}}
{{- if include "kymo.tls" . | fromYaml }}https{{ else }}http{{ end }}
{{- end }}

{{/* Whether nobody connects to a listener without a certificate. Takes config and listener. */}}
{{- define "kymo.wantsCertificate" -}}
{{- $tls := include "kymo.tls" . | fromYaml }}
{{- if eq (default (ternary "required" "none" (hasKey $tls "client_ca")) $tls.client_certificates) "required" }}true{{ end }}
{{- end }}

{{/* Whether a listener asks who it is. Takes config and listener. */}}
{{- define "kymo.asksWho" -}}
{{- $auth := dig "listeners" .listener "auth" (default list .config.auth) .config }}
{{- if and (kindIs "string" $auth) $auth }}{{- $auth = splitList "," (nospace $auth) }}{{- end }}
{{- if and (kindIs "slice" $auth) $auth }}
{{- if not (has "open" $auth) }}true{{ end }}
{{- end }}
{{- end }}

{{/* What paths of the main port begin with. */}}
{{- define "kymo.basePath" -}}
{{- with .Values.config.base_path }}/{{ trimAll "/" . }}{{ end }}
{{- end }}

{{/* Whether something is kept. */}}
{{- define "kymo.keeps" -}}
{{- if ne (toString (dig "store" "enabled" true .Values.config)) "false" }}true{{ end }}
{{- end }}

{{/* Received metrics are shown from the store. */}}
{{- define "kymo.exposes" -}}
{{- if and .Values.exposeReceivedMetrics (include "kymo.keeps" .) }}true{{ end }}
{{- end }}

{{/* Says why, rather than installing what would lose data or is open to everybody. */}}
{{- define "kymo.refuse" -}}
{{- $config := .Values.config }}
{{- $store := default dict $config.store }}
{{- $listeners := list "http" "otlp_grpc" "otlp_http" }}
{{- if include "kymo.exposes" . }}
{{- $listeners = append $listeners "expose_metrics" }}
{{- end }}
{{- if .Values.postgres }}
{{- if not (include "kymo.keeps" .) }}
{{- fail "postgres asks what is kept, and config.store.enabled is false: set postgres=false" }}
{{- end }}
{{- $listeners = append $listeners "postgres" }}
{{- end }}
{{- range $name := $listeners }}
{{- $listener := dict "config" $config "listener" $name }}
{{- $asks := or (include "kymo.asksWho" $listener) (include "kymo.wantsCertificate" $listener) }}
{{- if and (not $.Values.insecureListen) (or (eq (include "kymo.scheme" $listener) "http") (not $asks)) }}
{{- fail (printf "config needs tls, and auth or certificates of clients, for %s: set both, or insecureListen=true if the network around the pods makes up for it" $name) }}
{{- end }}
{{- end }}
{{- if include "kymo.wantsCertificate" (dict "config" $config "listener" "http") }}
{{- fail "probes of Kubernetes show no certificate: set config.tls.client_certificates=optional with auth, or config.listeners.http.tls without client_ca" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (include "kymo.keeps" .) (not $store.url) }}
{{- fail "several replicas need a bucket that they share: set config.store.url, or config.store.enabled=false to only forward" }}
{{- end }}
{{- end }}
