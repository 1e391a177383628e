# `eirene serve` as an image: docs/guides/server.md#in-a-container says how to run it.
ARG PYTHON=3.11.14-slim-bookworm

FROM python:${PYTHON} AS build
# Extras of pyproject.toml. `local` brings torch and some gigabytes; nothing else needs it.
ARG EXTRAS=server,openai
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY eirene eirene
RUN --mount=type=cache,target=/root/.cache/pip \
    pip wheel --constraint constraints.txt --wheel-dir /wheels ".[${EXTRAS}]"
# hadolint ignore=DL3013  # the wheels are those that constraints.txt names
RUN python -m venv --without-pip /opt/eirene \
    && pip --python /opt/eirene/bin/python install --no-cache-dir --no-index --find-links /wheels "eirene[${EXTRAS}]"

FROM python:${PYTHON}
# The ids are fixed: who mounts a folder knows whom to give it to.
RUN groupadd --gid 10001 eirene \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin eirene \
    && install --directory --owner 10001 --group 10001 --mode 700 /data
COPY --from=build /opt/eirene /opt/eirene
# All that is ever written lies below the volume or in /tmp; the rest may be read-only.
ENV PATH=/opt/eirene/bin:$PATH HOME=/data PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /data
VOLUME /data
USER 10001:10001
EXPOSE 8400
STOPSIGNAL SIGTERM
# -I: nothing in the volume is imported. No proxy of the environment is asked, as urllib would.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-I", "-c", "from http.client import HTTPConnection as C; c = C('127.0.0.1', 8400, timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
# It refuses to start on 0.0.0.0 without EIRENE_API_KEY. The grace ends before the ten seconds of `docker stop`.
ENTRYPOINT ["eirene", "serve", "--host", "0.0.0.0", "--port", "8400", "--grace", "7"]
