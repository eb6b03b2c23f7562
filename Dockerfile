# Two images. `docker build --target slim` makes one for managers and commands; without a target, the one that also has
# Spark, with a Java runtime among its requirements.
FROM python:3.13-slim AS base

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    IGQ_DATA_DIR=/data

# A volume that is mounted on /data gets the owner that the folder has here.
RUN useradd --uid 1000 --create-home igq && install -d -o igq -g igq -m 0700 /data

WORKDIR /opt/igq
VOLUME /data
ENTRYPOINT ["igq"]
CMD ["--help"]

# The code, installed after the requirements: a change of the code does not install them again.
FROM scratch AS code
COPY pyproject.toml README.md LICENSE /
COPY config /config
COPY sharedq /sharedq
COPY recovery /recovery
COPY igq /igq
COPY pyspark_igq.py pyspark_igq_journal.py pyspark_igq_parquet.py /

FROM base AS slim
COPY requirements-slim.lock ./
RUN pip install --require-hashes -r requirements-slim.lock
COPY --from=code / ./
RUN pip install --no-deps --no-build-isolation -e .
USER igq

FROM base AS full
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock
COPY --from=code / ./
RUN pip install --no-deps --no-build-isolation -e .
USER igq
