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

{{/* The scheme of probes and scrapes: that of all listeners, unless the main one has its own. */}}
{{- define "kymo.scheme" -}}
{{- if or (dig "listeners" "http" "tls" false .Values.config) .Values.config.tls }}https{{ else }}http{{ end }}
{{- end }}

{{/* Received metrics are shown from the store. */}}
{{- define "kymo.exposes" -}}
{{- if and .Values.exposeReceivedMetrics (ne (toString (dig "store" "enabled" true .Values.config)) "false") }}true{{ end }}
{{- end }}

{{/* Says why, rather than installing what would lose data or is open to everybody. */}}
{{- define "kymo.refuse" -}}
{{- $store := default dict .Values.config.store }}
{{- $tls := default dict .Values.config.tls }}
{{- $login := or .Values.config.auth (eq (toString $tls.client_certificates) "required") }}
{{- if and (not .Values.insecureListen) (or (not $tls) (not $login)) }}
{{- fail "config needs tls, and auth or certificates of clients: set both, or insecureListen=true if the network around the pods makes up for it" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (ne (toString $store.enabled) "false") (not $store.url) }}
{{- fail "several replicas need a bucket that they share: set config.store.url, or config.store.enabled=false to only forward" }}
{{- end }}
{{- end }}
